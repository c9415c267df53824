// From a file nothing can be fetched, so that searches go without excerpts.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;

// For readers who do not see: captions have a level, and the two bars beside a page have names.
document.addEventListener("DOMContentLoaded", () => {
  for (const each of document.querySelectorAll('[role="heading"]:not([aria-level])')) each.setAttribute("aria-level", "2");
  document.querySelector(".sidebar-drawer")?.setAttribute("aria-label", "All pages");
  document.querySelector(".toc-drawer")?.setAttribute("aria-label", "On this page");
});
// Buttons that are put there by another script have one, too.
addEventListener("load", () => document.querySelectorAll("button.copybtn").forEach(each => each.setAttribute("aria-label", "Copy")));

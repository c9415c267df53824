// For readers without a mouse: what scrolls sideways can be reached by keyboard, and captions have a level.
function reach() {
  for (const each of document.querySelectorAll("pre, .table-wrapper, .math-wrapper, .output, figure.drawn")) {
    if (each.scrollWidth > each.clientWidth) each.tabIndex = 0;
    else each.removeAttribute("tabindex");
  }
}
document.addEventListener("DOMContentLoaded", () => {
  for (const each of document.querySelectorAll('[role="heading"]:not([aria-level])')) each.setAttribute("aria-level", "2");
  reach();
  addEventListener("resize", reach);
});

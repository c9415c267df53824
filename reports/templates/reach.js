// For readers without a mouse: what scrolls sideways can be reached by keyboard, while it does. For reports and documentation.
function reach() {
  for (const each of document.querySelectorAll("pre, .table-wrapper, .math-wrapper, .output, figure.drawn, article p, article li, table.list td")) {
    if (each.scrollWidth > each.clientWidth && getComputedStyle(each).overflowX !== "visible") each.tabIndex = 0;
    else each.removeAttribute("tabindex");
  }
}
addEventListener("DOMContentLoaded", reach);
addEventListener("resize", reach);

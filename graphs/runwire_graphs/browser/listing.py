"""What of a page can be clicked or filled, as numbered lines and the elements behind them."""

from playwright.async_api import ElementHandle, Page

LIMIT = 60
SELECTOR = "a[href], button, input:not([type=hidden]), textarea, select, summary, [role=button], [role=link]"

FIND = """
([selector, limit]) => [...document.querySelectorAll(selector)]
  .filter(one => one.checkVisibility({visibilityProperty: true}) && !one.disabled)
  .slice(0, limit)
"""

DESCRIBE = """
found => found.map(one => {
  const tag = one.tagName.toLowerCase();
  const kinds = {a: "link", textarea: "text field", select: "choice", summary: "button", button: "button"};
  const inputs = {submit: "button", button: "button", image: "button", checkbox: "checkbox", radio: "radio button",
    password: "password field"};
  const kind = kinds[tag] || (tag == "input" ? inputs[one.type] || "text field" : one.getAttribute("role"));
  const label = one.labels && one.labels[0] ? one.labels[0].innerText : "";
  const name = one.getAttribute("aria-label") || label || one.innerText || one.placeholder || one.title
    || (kind == "button" ? one.value : "") || one.name || one.alt || "";
  const options = tag == "select" ? [...one.options].map(option => option.text) : null;
  const value = one.type == "password" ? "" : kind == "text field" || tag == "select" ? one.value : "";
  return {kind, name: name.trim().replace(/\\s+/g, " ").slice(0, 80), value: value.slice(0, 80), options,
          checked: Boolean(one.checked)};
})
"""


async def list_elements(page: Page) -> tuple[list[ElementHandle], list[str]]:
    found = await page.evaluate_handle(FIND, [SELECTOR, LIMIT])
    told = await page.evaluate(DESCRIBE, found)
    properties = await found.get_properties()
    elements = [element for one in properties.values() if (element := one.as_element())]
    return elements, [_line(number, one) for number, one in enumerate(told, 1)]


def _line(number: int, told: dict[str, object]) -> str:
    line = f'[{number}] {told["kind"]} "{told["name"]}"'
    if told["options"]:
        line += f" of {', '.join(map(str, told['options']))}" if isinstance(told["options"], list) else ""
    if told["value"]:
        line += f' holding "{told["value"]}"'
    return f"{line}, checked" if told["checked"] else line

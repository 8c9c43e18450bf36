"use strict";

SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#reference",
  presets: [SwaggerUIBundle.presets.apis],
  layout: "BaseLayout",
  deepLinking: true,
  tryItOutEnabled: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
  // The page may be open under another name than the public one (localhost, an address): a request
  // goes to the server of the page. The content security policy allows no other.
  requestInterceptor(request) {
    const { pathname, search } = new URL(request.url, location.href);
    request.url = location.origin + pathname + search;
    return request;
  },
});

// What Swagger UI leaves out for people who do not use a mouse or do not see the page. It draws its
// parts again and again, so this is done after every change.
const NAMES = [
  ["tr[data-param-name]", (row) => row.dataset.paramName],
  [".examples-select", () => "Example"],
  [".content-type-wrapper, .response-control-media-type", () => "Media type"],
  [".opblock-section-request-body", () => "Request body"],
  [".scopes", () => "Scope"],
];

function nameOf(field) {
  for (const [place, name] of NAMES) {
    const found = field.closest(place);
    if (found) return name(found);
  }
  return field.placeholder || "Value";
}

const REPAIRS = [
  // A field needs a name that can be read out.
  ["select, textarea, input:not([type=hidden])", (field) => {
    if (field.labels.length || field.hasAttribute("aria-label")) return;
    field.setAttribute("aria-label", nameOf(field));
  }],
  [".close-modal", (button) => button.setAttribute("aria-label", "Close")],
  [".copy-to-clipboard button", (button) => button.setAttribute("aria-label", "Copy")],
  // What is read out has to be what is shown.
  [".modal-btn[aria-label]", (button) => button.removeAttribute("aria-label")],
  // A link within a button: the button does what the link would.
  [".opblock-summary-control a[href]", (link) => link.removeAttribute("href")],
  // A table is a table, and what scrolls can be scrolled with the keyboard.
  ["table[role=region]", (table) => table.removeAttribute("role")],
  [".highlight-code > .microlight, .curl, .opblock-body pre", (code) => { code.tabIndex = 0; }],
  // Headings without gaps between their levels.
  [".models > h4", (heading) => heading.setAttribute("aria-level", "3")],
  [".webhooks h2", (heading) => heading.setAttribute("aria-level", "3")],
  [".scopes h2", (heading) => heading.setAttribute("aria-level", "5")],
];

const reference = document.getElementById("reference");
let dialog = null;

function repair() {
  for (const [place, mend] of REPAIRS) reference.querySelectorAll(place).forEach(mend);
  // Every way to authorize asks for the focus and the last one gets it: that of a wallet. Who comes
  // here has a merchant's key.
  const open = reference.querySelector(".dialog-ux");
  if (open !== dialog) {
    dialog = open;
    open?.querySelector("input")?.focus();
  }
}

new MutationObserver(repair).observe(reference, { childList: true, subtree: true });

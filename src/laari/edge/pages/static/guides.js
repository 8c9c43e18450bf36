// What the guides do by themselves. They can be read without this.
"use strict";

// One choice of a language holds for all samples, and for the next page.
const KEPT = "laari-samples";
const tabs = document.querySelectorAll(".samples > input");

function choose(language) {
  for (const tab of tabs) if (tab.value === language) tab.checked = true;
}

try {
  choose(localStorage.getItem(KEPT));
} catch {
  // A browser that keeps nothing: each page begins with the first language.
}
for (const tab of tabs) {
  tab.addEventListener("change", () => {
    const before = tab.getBoundingClientRect().top;
    choose(tab.value);
    // Samples above have other heights now: what was pressed stays under the finger.
    scrollBy(0, tab.getBoundingClientRect().top - before);
    try {
      localStorage.setItem(KEPT, tab.value);
    } catch {
      // As above.
    }
  });
}

// A button to copy a listing, if the browser allows it.
if (navigator.clipboard) {
  for (const listing of document.querySelectorAll(".listing")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(listing.querySelector("code").textContent);
        button.textContent = "Copied";
      } catch {
        button.textContent = "Not allowed";
      }
      setTimeout(() => (button.textContent = "Copy"), 2000);
    });
    listing.append(button);
  }
}

/** The only door from untrusted words to the page: elements of our own choosing, text nodes, and checked links. */

/** An element with a class and children; strings become text nodes. */
export function make(tag, className = "", ...children) {
  const el = document.createElement(tag);
  if (className !== "") el.className = className;
  el.append(...children);
  return el;
}

export function makeButton(className, label, act) {
  const el = make("button", className, label);
  el.type = "button";
  el.onclick = act;
  return el;
}

/** Without U+202D and U+202E, which would turn the rest of a line around. */
export function drawn(text) {
  return text.replace(/[\u202d\u202e]/g, "");
}

/** The url when a link may lead there: absolute http(s), no credentials; else null. */
export function safeUrl(text) {
  const url = URL.canParse(text ?? "") ? new URL(text) : null;
  const web = url?.protocol === "https:" || url?.protocol === "http:";
  return web && url.username === "" && url.password === "" ? url : null;
}

/** `url` as `safeUrl` gives it. */
export function makeLink(url, label) {
  const el = make("a", "", label);
  el.href = url.href;
  el.target = "_blank";
  el.rel = "noopener noreferrer nofollow";
  return el;
}

// From the boxes of the new-crawl form to a crawl specification in TOML. Only what differs from the defaults is written.

export interface SpecificationForm {
  seeds: string[];
  within: "domains" | "hosts" | "anywhere";
  include: string[];
  exclude: string[];
  maxPages: string;
  maxDepth: string;
  delay: string;
  contact: string;
  allowPrivate: boolean;
}

export const emptyForm: SpecificationForm = {
  seeds: [],
  within: "domains",
  include: [],
  exclude: [],
  maxPages: "",
  maxDepth: "",
  delay: "",
  contact: "",
  allowPrivate: false,
};

/** Writes the specification. */
export function toToml(form: SpecificationForm): string {
  const scope: string[] = [];
  if (form.within !== "domains") scope.push(`within = ${quote(form.within)}`);
  if (form.include.length > 0) scope.push(`include = ${list(form.include)}`);
  if (form.exclude.length > 0) scope.push(`exclude = ${list(form.exclude)}`);
  if (isCount(form.maxPages)) scope.push(`max_pages = ${Number(form.maxPages)}`);
  if (isCount(form.maxDepth)) scope.push(`max_depth = ${Number(form.maxDepth)}`);
  const politeness: string[] = [];
  if (form.delay.trim() !== "") politeness.push(`delay = ${quote(form.delay.trim())}`);
  if (form.contact.trim() !== "") politeness.push(`contact = ${quote(form.contact.trim())}`);
  const fetch: string[] = form.allowPrivate ? ["allow_private = true"] : [];
  const parts = [`seeds = ${list(form.seeds)}`];
  if (scope.length > 0) parts.push(`[scope]\n${scope.join("\n")}`);
  if (politeness.length > 0) parts.push(`[politeness]\n${politeness.join("\n")}`);
  if (fetch.length > 0) parts.push(`[fetch]\n${fetch.join("\n")}`);
  return `${parts.join("\n\n")}\n`;
}

/** True for a whole number that can be a limit. */
export function isCount(text: string): boolean {
  return /^\s*\d{1,15}\s*$/.test(text);
}

function list(values: readonly string[]): string {
  if (values.length === 0) return "[]";
  if (values.length === 1) return `[${quote(values[0] ?? "")}]`;
  return `[\n${values.map((value) => `    ${quote(value)},\n`).join("")}]`;
}

/** A TOML basic string: quotes, backslashes and control characters escaped. */
export function quote(text: string): string {
  const escaped = text.replaceAll(/["\\\u0000-\u001f\u007f]/g, (letter) => {
    if (letter === '"' || letter === "\\") return `\\${letter}`;
    return `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0").toUpperCase()}`;
  });
  return `"${escaped}"`;
}

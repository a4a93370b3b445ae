// Short names for IRIs. Well-known prefixes first, then those of the store as the server counts them; what has no prefix
// keeps the part after its last `#` or `/`.
import { signal } from "@preact/signals";

/** Prefixes everybody knows. Those of the store are added to them. */
export const commonPrefixes: Readonly<Record<string, string>> = {
  rdf: "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
  rdfs: "http://www.w3.org/2000/01/rdf-schema#",
  owl: "http://www.w3.org/2002/07/owl#",
  xsd: "http://www.w3.org/2001/XMLSchema#",
  skos: "http://www.w3.org/2004/02/skos/core#",
  schema: "http://schema.org/",
  schemas: "https://schema.org/",
  foaf: "http://xmlns.com/foaf/0.1/",
  dc: "http://purl.org/dc/elements/1.1/",
  dcterms: "http://purl.org/dc/terms/",
  prov: "http://www.w3.org/ns/prov#",
  og: "http://ogp.me/ns#",
  vcard: "http://www.w3.org/2006/vcard/ns#",
  sioc: "http://rdfs.org/sioc/ns#",
  rss: "http://purl.org/rss/1.0/",
  xhv: "http://www.w3.org/1999/xhtml/vocab#",
  webloom: "urn:webloom:ns#",
};

/** The prefixes in use: common ones and the store's. */
export const prefixes = signal<Readonly<Record<string, string>>>(commonPrefixes);

/** Adds prefixes of the store. A common prefix keeps its meaning. */
export function learnPrefixes(found: readonly { prefix: string; namespace: string }[]): void {
  const known = new Set(Object.values(commonPrefixes));
  const more: Record<string, string> = {};
  for (const { prefix, namespace } of found) {
    if (prefix !== "" && !known.has(namespace) && !(prefix in commonPrefixes)) more[prefix] = namespace;
  }
  prefixes.value = { ...more, ...commonPrefixes };
}

/** An IRI as prefix:name when a prefix fits and the rest is a plain name, or null. */
export function compact(iri: string, known: Readonly<Record<string, string>> = prefixes.value): string | null {
  let best: string | null = null;
  let length = 0;
  for (const [prefix, namespace] of Object.entries(known)) {
    if (namespace.length > length && iri.startsWith(namespace)) {
      const rest = iri.slice(namespace.length);
      if (/^[\p{L}\p{N}_](?:[\p{L}\p{N}_.-]*[\p{L}\p{N}_-])?$/u.test(rest)) {
        best = `${prefix}:${rest}`;
        length = namespace.length;
      }
    }
  }
  return best;
}

/** The last part of an IRI, made readable. */
export function localName(iri: string): string {
  const trimmed = iri.replace(/[#/]+$/, "");
  const part = trimmed.slice(
    Math.max(trimmed.lastIndexOf("#"), trimmed.lastIndexOf("/"), trimmed.lastIndexOf(":")) + 1,
  );
  try {
    return decodeURIComponent(part) || iri;
  } catch {
    return part || iri;
  }
}

/** The best short name of an IRI: its label, prefix:name, or its last part. */
export function nameOf(iri: string, label?: string | null): string {
  return label || compact(iri) || localName(iri);
}

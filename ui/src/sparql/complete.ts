// What could be written next in a query: keywords, variables, prefixes, and the predicates and classes that are really in the store. Plain data;
// the editor turns it into its own completions.
import type { Vocabulary } from "../api/types.ts";
import { compact } from "../names.ts";
import { declaredPrefixes, positionAfter, usedVariables } from "./context.ts";
import { functions, keywords } from "./tokenizer.ts";

export interface Proposal {
  label: string;
  kind: "keyword" | "function" | "variable" | "prefix" | "predicate" | "class";
  /** Small text beside it, such as how often it is used. */
  detail: string;
  /** Higher comes first. */
  boost: number;
  /** A prefix that must be declared for this to mean something. */
  needs: { prefix: string; namespace: string } | null;
}

export interface Proposals {
  /** Where the text that a proposal replaces begins. */
  from: number;
  proposals: Proposal[];
}

const proposalsMost = 300;

/** Proposes how to go on at `place`. Null when nothing fits, unless asked for explicitly. */
export function propose(
  text: string,
  place: number,
  vocabulary: Vocabulary | null,
  known: Readonly<Record<string, string>>,
  explicit: boolean,
): Proposals | null {
  const before = text.slice(0, place);
  const declared = declaredPrefixes(text);
  const all = { ...known, ...declared };

  const afterPrefix = /\bPREFIX\s+([\w-]*)$/i.exec(before);
  if (afterPrefix) {
    const from = place - (afterPrefix[1]?.length ?? 0);
    return { from, proposals: declarations(all, vocabulary) };
  }
  const variable = /[?$]([\p{L}\p{N}_]*)$/u.exec(before);
  if (variable) {
    const typed = variable[0];
    const names = usedVariables(text).filter((name) => `?${name}` !== typed && `$${name}` !== typed);
    return names.length === 0
      ? null
      : { from: place - typed.length, proposals: names.map((name) => proposal(`?${name}`, "variable", "", 0)) };
  }
  const iri = /<[^<>\s]*$/.exec(before);
  if (iri) {
    const from = place - iri[0].length;
    return { from, proposals: terms(text, from, vocabulary, {}, declared) };
  }
  const word = /(?:[\p{L}][\p{L}\p{N}_-]*)?(?::[\p{L}\p{N}_.-]*)?$/u.exec(before)?.[0] ?? "";
  if (word === "" && !explicit) return null;
  const from = place - word.length;
  const found = terms(text, from, vocabulary, all, declared);
  if (!word.includes(":")) {
    for (const [prefix, namespace] of Object.entries(all)) {
      found.push({
        ...proposal(`${prefix}:`, "prefix", namespace, 1),
        needs: prefix in declared ? null : { prefix, namespace },
      });
    }
    const position = positionAfter(text.slice(0, from));
    if (position !== "class" && position !== "predicate") {
      for (const keyword of keywords) found.push(proposal(keyword, "keyword", "", 2));
      for (const name of functions) found.push(proposal(name, "function", "", 0));
    }
  }
  return { from, proposals: found };
}

/** Predicates and classes, those that fit the place first. */
function terms(
  text: string,
  from: number,
  vocabulary: Vocabulary | null,
  all: Readonly<Record<string, string>>,
  declared: Readonly<Record<string, string>>,
): Proposal[] {
  if (!vocabulary) return [];
  const position = positionAfter(text.slice(0, from));
  const found: Proposal[] = [];
  const add = (list: readonly { iri: string; count: number }[], kind: "predicate" | "class", boost: number) => {
    list.slice(0, proposalsMost).forEach(({ iri, count }, rank) => {
      const short = compact(iri, all);
      const prefix = short?.slice(0, short.indexOf(":")) ?? "";
      const namespace = all[prefix];
      found.push({
        ...proposal(
          short ?? `<${iri}>`,
          kind,
          `${kind}, ${count.toLocaleString("en")}×`,
          boost + Math.max(0, 20 - rank / 10),
        ),
        needs: short && namespace !== undefined && !(prefix in declared) ? { prefix, namespace } : null,
      });
    });
  };
  // What is used most comes first, and what fits the place above the rest.
  if (position !== "class") add(vocabulary.predicates, "predicate", position === "predicate" ? 40 : 0);
  if (position !== "predicate") add(vocabulary.classes, "class", position === "class" ? 40 : 0);
  return found;
}

function declarations(all: Readonly<Record<string, string>>, vocabulary: Vocabulary | null): Proposal[] {
  const counts = new Map(vocabulary?.prefixes.map((one) => [one.namespace, one.count]) ?? []);
  return Object.entries(all).map(([prefix, namespace]) => {
    const count = counts.get(namespace) ?? 0;
    return proposal(
      `${prefix}: <${namespace}>`,
      "prefix",
      count > 0 ? `${count.toLocaleString("en")}×` : "",
      count > 0 ? 10 : 0,
    );
  });
}

function proposal(label: string, kind: Proposal["kind"], detail: string, boost: number): Proposal {
  return { label, kind, detail, boost, needs: null };
}

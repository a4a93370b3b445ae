// The vocabulary of the store: prefixes, predicates and classes with how often they are used. Asked for once, and again when it is old;
// what is learnt from it makes short names everywhere.
import { signal } from "@preact/signals";
import { get } from "./api/client.ts";
import type { Vocabulary } from "./api/types.ts";
import { learnPrefixes } from "./names.ts";

/** What is known, null until the first answer. */
export const vocabulary = signal<Vocabulary | null>(null);

const freshFor = 60_000;
let asked = 0;

/** Asks for it, unless that was done a moment ago. A failure is not shown: everything works without it, only with longer names. */
export function refreshVocabulary(): void {
  if (Date.now() - asked < freshFor) return;
  asked = Date.now();
  get<Vocabulary>("/api/vocabulary").then(
    (found) => {
      vocabulary.value = found;
      learnPrefixes(found.prefixes);
      // A crawl that has just begun has not said much yet.
      if (found.classes.length === 0) asked = 0;
    },
    () => {
      asked = 0;
    },
  );
}

// The browser's storage, which a private window or a policy may refuse. What cannot be kept is simply not kept.

/** Reads a value, or null. */
export function recall(store: "local" | "session", key: string): string | null {
  try {
    return area(store).getItem(key);
  } catch {
    return null;
  }
}

/** Keeps a value; null forgets it. */
export function remember(store: "local" | "session", key: string, value: string | null): void {
  try {
    if (value === null) area(store).removeItem(key);
    else area(store).setItem(key, value);
  } catch {
    // Nothing to do: the choice holds until the page is left.
  }
}

function area(store: "local" | "session"): Storage {
  return store === "local" ? window.localStorage : window.sessionStorage;
}

// Numbers, sizes, times and names as people read them. Plain functions of their input; nothing here knows the page.

const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/** A whole number with its thousands apart: 12,345. A dash when there is none. */
export function formatCount(value: number | null | undefined): string {
  return isNumber(value) ? grouped.format(value) : "–";
}

/** A number short enough for a tile: 950, 12.3k, 4.6M. */
export function formatShort(value: number | null | undefined): string {
  if (!isNumber(value)) return "–";
  return scaled(value, 1000, ["", "k", "M", "G", "T"]);
}

/** A rate: two or three digits say enough. */
export function formatRate(value: number | null | undefined): string {
  if (!isNumber(value)) return "–";
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size < 0.1) return value.toFixed(2);
  if (size < 100) return trimZero(value.toFixed(1));
  return formatShort(value);
}

/** A size in bytes: 512 B, 1.4 MiB. */
export function formatBytes(value: number | null | undefined): string {
  if (!isNumber(value)) return "–";
  if (Math.abs(value) < 1024) return `${Math.round(value)} B`;
  return scaled(value, 1024, ["", " KiB", " MiB", " GiB", " TiB", " PiB"]);
}

/** A part of one as a percentage. */
export function formatShare(value: number | null | undefined): string {
  return isNumber(value) ? `${Math.round(value * 100)}%` : "–";
}

/** A length of time: 850 ms, 12 s, 4 min 10 s, 3 h 5 min, 2 d 4 h. */
export function formatDuration(seconds: number | null | undefined): string {
  if (!isNumber(seconds) || seconds < 0) return "–";
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 10) return `${trimZero(seconds.toFixed(1))} s`;
  const whole = Math.round(seconds);
  const parts: [number, string][] = [
    [Math.floor(whole / 86_400), "d"],
    [Math.floor(whole / 3600) % 24, "h"],
    [Math.floor(whole / 60) % 60, "min"],
    [whole % 60, "s"],
  ];
  const first = parts.findIndex(([amount]) => amount > 0);
  return parts
    .slice(first, first + 2)
    .filter(([amount]) => amount > 0)
    .map(([amount, unit]) => `${amount} ${unit}`)
    .join(" ");
}

/** Milliseconds as a length of time. */
export function formatMilliseconds(value: number | null | undefined): string {
  return isNumber(value) ? formatDuration(value / 1000) : "–";
}

/** Microseconds: 340 µs, 12 ms. */
export function formatMicroseconds(value: number | null | undefined): string {
  if (!isNumber(value)) return "–";
  return value < 1000 ? `${Math.round(value)} µs` : formatDuration(value / 1e6);
}

/** How long ago a moment was: "12 s ago". Moments to come are "in 3 s". */
export function formatAgo(time: string | null | undefined, now: number): string {
  const moment = time ? Date.parse(time) : Number.NaN;
  if (Number.isNaN(moment)) return "–";
  const seconds = Math.round((now - moment) / 1000);
  if (seconds === 0) return "now";
  const text = coarse(Math.abs(seconds));
  return seconds > 0 ? `${text} ago` : `in ${text}`;
}

/** A moment in the reader's own time zone: 2026-11-16 05:48:20. */
export function formatTime(time: string | null | undefined): string {
  const moment = time ? new Date(time) : null;
  if (!moment || Number.isNaN(moment.getTime())) return "–";
  const two = (value: number) => String(value).padStart(2, "0");
  const date = `${moment.getFullYear()}-${two(moment.getMonth() + 1)}-${two(moment.getDate())}`;
  return `${date} ${two(moment.getHours())}:${two(moment.getMinutes())}:${two(moment.getSeconds())}`;
}

/** The clock part of a moment, with the day for spans longer than one: for the axis of a chart. */
export function formatClock(time: number, withDay: boolean): string {
  const moment = new Date(time);
  const two = (value: number) => String(value).padStart(2, "0");
  const clock = `${two(moment.getHours())}:${two(moment.getMinutes())}`;
  if (!withDay) return clock;
  const day = moment.toLocaleDateString("en", { weekday: "short", day: "numeric" });
  return `${day} ${clock}`;
}

/** One word or many: plural(1, "page") is "1 page", plural(2, "page") is "2 pages". */
export function plural(count: number, noun: string, many = `${noun}s`): string {
  return `${formatCount(count)} ${count === 1 ? noun : many}`;
}

/** The host of a URL, or the text itself where it has none. */
export function hostOf(url: string): string {
  try {
    return new URL(url).host || url;
  } catch {
    return url;
  }
}

/** A URL without its scheme, for places where it is seen and not followed. */
export function briefUrl(url: string): string {
  return url.replace(/^https?:\/\//, "").replace(/^([^/]+)\/$/, "$1");
}

/** Cuts the middle out of a text that is too long: its ends say most. */
export function shorten(text: string, length: number): string {
  const letters = Array.from(text);
  if (letters.length <= length) return text;
  const head = Math.ceil((length - 1) * 0.6);
  return `${letters.slice(0, head).join("")}…${letters.slice(letters.length - (length - 1 - head)).join("")}`;
}

/** Words of an identifier: "max_pages_per_host" is "max pages per host". */
export function words(identifier: string): string {
  return identifier
    .replaceAll(/[_-]+/g, " ")
    .replaceAll(/([a-z])([A-Z])/g, (_, left: string, right: string) => `${left} ${right.toLowerCase()}`)
    .replaceAll(/\b(?:dns|tls|tcp|http|url|ip|warc)\b/gi, (word) => word.toUpperCase());
}

/** True for an address that may become a link that leaves the interface. Everything else (javascript:, data:) is only text. */
export function isWebAddress(text: string): boolean {
  return /^https?:\/\/[^\s]+$/i.test(text);
}

function isNumber(value: number | null | undefined): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

function scaled(value: number, base: number, units: readonly string[]): string {
  let amount = value;
  let step = 0;
  // Rounding first: 999.6 must not print as 1000.
  while (Math.round(Math.abs(amount)) >= base && step < units.length - 1) {
    amount /= base;
    step += 1;
  }
  const size = Math.abs(amount);
  const digits = step === 0 && Number.isInteger(amount) ? 0 : size >= 100 ? 0 : 1;
  return `${trimZero(amount.toFixed(digits))}${units[step] ?? ""}`;
}

function trimZero(text: string): string {
  return text.replace(/\.0+$/, "");
}

function coarse(seconds: number): string {
  if (seconds < 90) return `${seconds} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 129_600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}

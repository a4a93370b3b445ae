// The few icons of the interface, drawn here. They are decoration: the words beside them, or the button's label, say it.
import type { JSX } from "preact";

const paths = {
  play: "M5 3.5v9l7.5-4.5z",
  pause: "M5 3.5v9M11 3.5v9",
  stop: "M4 4h8v8H4z",
  plus: "M8 3v10M3 8h10",
  check: "M3 8.5l3.2 3.2L13 4.8",
  cross: "M4 4l8 8M12 4l-8 8",
  copy: "M6 5.5h7v8H6zM3.5 10.5h-1v-8h7v1",
  left: "M10 3.5L5.5 8l4.5 4.5",
  right: "M6 3.5L10.5 8 6 12.5",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9a4.5 4.5 0 1 0 0-9M10.3 10.3l3.2 3.2",
  warning: "M8 2.5l6 11H2zM8 6.5v3.2M8 11.6v.2",
  info: "M8 2a6 6 0 1 0 0 12A6 6 0 1 0 8 2M8 7.2v4M8 4.8v.2",
  download: "M8 2.5v7.5M4.8 7L8 10.2 11.2 7M3 13.2h10",
  link: "M6.5 9.5l3-3M7 4.8l1.4-1.4a2.6 2.6 0 0 1 3.7 3.7L10.8 8.5M9 11.2l-1.4 1.4a2.6 2.6 0 0 1-3.7-3.7l1.3-1.4",
  outside: "M9 3h4v4M13 3L7.5 8.5M11 9v4H3V5h4",
  refresh: "M12.8 6.2A5 5 0 1 0 13 9M13 3v3.4H9.6",
  sun: "M8 5.2a2.8 2.8 0 1 0 0 5.6a2.8 2.8 0 1 0 0-5.6M8 1.6v1.2M8 13.2v1.2M1.6 8h1.2M13.2 8h1.2M3.5 3.5l.8.8M11.7 11.7l.8.8M3.5 12.5l.8-.8M11.7 4.3l.8-.8",
  moon: "M13 9.4A5.4 5.4 0 0 1 6.6 3a5.4 5.4 0 1 0 6.4 6.4z",
  system: "M2.5 3h11v7.5h-11zM6 13.2h4M8 10.5v2.7",
  trash: "M3 4.5h10M6.2 4.5v-2h3.6v2M4.4 4.5l.6 9h6l.6-9",
} as const;

export type IconName = keyof typeof paths;

/** One icon, in the colour of the text around it. */
export function Icon(props: { name: IconName }): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={paths[props.name]} />
    </svg>
  );
}

/** The mark of Webloom: threads crossing. */
export function Mark(): JSX.Element {
  return (
    <svg class="mark" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="7" />
      <path d="M7 10h5M20 10h5M7 16h18M7 22h5M20 22h5M12 6v20M20 6v7M20 19v7" />
    </svg>
  );
}

// Every package we build with, or ship, has a licence that we accept.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const accepted = new Set([
  "MIT",
  "Apache-2.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "ISC",
  "0BSD",
  "MPL-2.0",
  "Zlib",
  "CC0-1.0",
  "BlueOak-1.0.0",
  "(MIT OR CC0-1.0)",
]);

interface LockedPackage {
  license?: string;
  resolved?: string;
  dev?: boolean;
}

const lock = JSON.parse(readFileSync("package-lock.json", "utf8")) as { packages: Record<string, LockedPackage> };
const packages = Object.entries(lock.packages).filter(([path]) => path !== "");

test("licences", () => {
  const refused = packages
    .filter(([, one]) => !accepted.has(one.license ?? "none named"))
    .map(([path, one]) => `${path}: ${one.license}`);
  expect(refused).toEqual([]);
});

test("what is shipped is permissive without conditions on files", () => {
  const shipped = packages.filter(([, one]) => !one.dev).map(([, one]) => one.license);
  expect([...new Set(shipped)].sort()).toEqual(["MIT"]);
});

test("the lock file names no host", () => {
  expect(packages.filter(([, one]) => one.resolved !== undefined).map(([path]) => path)).toEqual([]);
});

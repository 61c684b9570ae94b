/**
 * How long a test waits for something that must happen. Only code that hangs takes this long: a busy machine is
 * slow by seconds, so a shorter limit would fail tests of code that works.
 */
export const HANG_MS = 60_000

/** What the command line exits with. Those of `run` stay clear of the codes that commands commonly use. */
export const EXIT = {
  ok: 0,
  /** The question was answered, and the answer is no. */
  no: 1,
  /** `monitor` was given a folder, a file or lines that it cannot use. */
  badInput: 2,
  usage: 64,
  unavailable: 69,
  failed: 70,
  held: 75,
  lost: 76,
  notExecutable: 126,
  notFound: 127,
} as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** As shells have it: a command that was ended by a signal exits with 128 and the signal's number. */
export const SIGNAL_BASE = 128

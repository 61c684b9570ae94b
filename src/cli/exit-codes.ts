/** Those above 63 leave the lower codes to the command of `run`. */
export const EXIT = {
  ok: 0,
  /** The question was answered, and the answer is no. */
  no: 1,
  /** `monitor` cannot use the folder, the file or the lines that it was given. */
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

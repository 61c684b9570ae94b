/** Those above 63 leave the lower codes to the command of `run`. */
export const EXIT = {
  ok: 0,
  no: 1,
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

/** What each code means, as `docs/cli.md` says it. */
export const EXIT_MEANING: Readonly<Record<ExitCode, string>> = {
  0: 'success',
  1: 'the answer is no: `inspect` found no holder, `release` found no lease or was not confirmed, `doctor` found a failure, `monitor score` requires a rollback, `monitor report` could not notify Slack or PagerDuty',
  2: '`monitor` cannot use the folder, the file or the lines that it was given',
  64: 'wrong usage: an unknown command, flag or store, a wrong value, a wrong configuration',
  69: 'the store cannot be reached',
  70: 'the store failed and a retry cannot help (damaged data, a wrong password, no permission, data of a newer version), a client is not installed, or a bug',
  75: 'another caller holds the lease, and the wait is over',
  76: '`run`: the command was stopped because the lease was lost or could not be renewed',
  126: '`run`: the command cannot be run',
  127: '`run`: the command was not found',
}

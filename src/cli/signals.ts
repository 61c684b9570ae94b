/** What others may send to `run`, and is meant for its command. */
const FORWARDED = ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGUSR1', 'SIGUSR2', 'SIGWINCH'] as const
/** Those that ask to end. */
const ENDING: readonly NodeJS.Signals[] = ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM']

/** The signals that this process gets: until there is a command they end the wait, then they are the command's. */
export class Signals {
  /** Aborts, with the name of the signal, when one asks to end before there is a command. */
  readonly end: AbortSignal
  #pass: ((signal: NodeJS.Signals) => void) | undefined

  constructor() {
    const ending = new AbortController()
    this.end = ending.signal
    for (const signal of FORWARDED)
      process.on(signal, () => {
        if (this.#pass) this.#pass(signal)
        else if (ENDING.includes(signal)) ending.abort(signal)
      })
    process.on('SIGTSTP', () => this.#suspend())
  }

  forward(pass: (signal: NodeJS.Signals) => void): void {
    this.#pass = pass
  }

  /** Ctrl-Z: the command must not go on while nobody renews its lease. */
  #suspend(): void {
    this.#pass?.('SIGSTOP')
    process.once('SIGCONT', () => this.#pass?.('SIGCONT'))
    process.kill(process.pid, 'SIGSTOP')
  }
}

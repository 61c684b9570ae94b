import { constants } from 'node:os'

/** Shells use it too: a process that a signal ended exits with 128 plus the number of the signal. */
const SIGNAL_BASE = 128

export function signalExitCode(signal: NodeJS.Signals): number {
  return SIGNAL_BASE + constants.signals[signal]
}

/** Resolves with the first of these signals that this process receives. */
export function nextSignal(...signals: readonly NodeJS.Signals[]): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const signal of signals) process.once(signal, () => resolve(signal))
  })
}

/** `run` passes these on to its command. */
const FORWARDED = ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGUSR1', 'SIGUSR2', 'SIGWINCH'] as const
/** These end a `run` that has no command yet. */
const ENDING: readonly NodeJS.Signals[] = ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM']

/** The signals that `run` receives. They end its wait for the lease; once the command runs, they go to the command. */
export class RunSignals {
  /** Aborts with the name of the signal that ends the wait. */
  readonly endOfWait: AbortSignal
  #forward: ((signal: NodeJS.Signals) => void) | undefined

  constructor() {
    const ending = new AbortController()
    this.endOfWait = ending.signal
    for (const signal of FORWARDED)
      process.on(signal, () => {
        if (this.#forward) this.#forward(signal)
        else if (ENDING.includes(signal)) ending.abort(signal)
      })
    process.on('SIGTSTP', () => this.#suspend())
  }

  /** From now on, signals go to the command. */
  forwardTo(send: (signal: NodeJS.Signals) => void): void {
    this.#forward = send
  }

  /** Ctrl-Z also stops the command, because nobody renews the lease while this process is stopped. */
  #suspend(): void {
    this.#forward?.('SIGSTOP')
    process.once('SIGCONT', () => this.#forward?.('SIGCONT'))
    process.kill(process.pid, 'SIGSTOP')
  }
}

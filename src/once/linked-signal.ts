export interface LinkedSignal {
  readonly signal: AbortSignal
  unlink(): void
}

/** Aborts with its sources. `AbortSignal.any` would leave a trace of each run in a source that outlives it. */
export function linkSignals(...sources: (AbortSignal | undefined)[]): LinkedSignal {
  const controller = new AbortController()
  const given = sources.filter((source) => source !== undefined)
  const onAbort = () => controller.abort(given.find(({ aborted }) => aborted)?.reason)
  for (const source of given) source.addEventListener('abort', onAbort)
  if (given.some(({ aborted }) => aborted)) onAbort()
  return {
    signal: controller.signal,
    unlink() {
      for (const source of given) source.removeEventListener('abort', onAbort)
    },
  }
}

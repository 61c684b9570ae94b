import type { Probe } from './probe/probe.ts'

/** Evaluates text in a context: a page, a worker or a content script. */
export interface Evaluating {
  evaluate(expression: string): Promise<unknown>
}

export function runProbe<N extends keyof Probe>(
  context: Evaluating,
  name: N,
  ...args: Parameters<Probe[N]>
): ReturnType<Probe[N]> {
  const list = args.map((arg) => JSON.stringify(arg)).join()
  return context.evaluate(`probe.${name}(${list})`) as ReturnType<Probe[N]>
}

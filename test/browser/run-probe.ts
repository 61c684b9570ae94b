import type { Probe } from './probe/probe.ts'

/** Anything that evaluates a text in a context: a page, a worker, a content script. */
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

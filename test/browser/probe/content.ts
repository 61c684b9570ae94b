import { chromeContext, createSync } from '../../../src/sync/index.ts'
import { exposeProbe, type Probe } from './probe.ts'

const probe = exposeProbe(chromeContext())
Object.assign(globalThis, { chromeContext, createSync })

/** Firefox's remote protocol cannot evaluate in a content script, so the page passes the operation on. */
export interface PassedOn {
  readonly operation: keyof Probe
  readonly args: readonly unknown[]
}

addEventListener('message', async ({ data }: MessageEvent<Partial<PassedOn>>) => {
  if (!data.operation) return
  const run = probe[data.operation] as (...args: readonly unknown[]) => unknown
  postMessage({ result: await run(...(data.args ?? [])) })
})
document.documentElement.setAttribute('data-probe', 'ready')

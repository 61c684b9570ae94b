import { chromeContext, createSync } from '../../../src/sync/index.ts'
import { exposeProbe } from './probe.ts'

exposeProbe(chromeContext())
Object.assign(globalThis, { chromeContext, createSync })

import { chromeContext, createCoordinator } from '../../../src/sync/index.ts'
import { exposeProbe } from './probe.ts'

Object.assign(globalThis, { coordinator: createCoordinator(chromeContext()) })
exposeProbe(chromeContext())

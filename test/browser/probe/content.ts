import { chromeContext } from '../../../src/sync/index.ts'
import { exposeProbe } from './probe.ts'

exposeProbe(chromeContext())

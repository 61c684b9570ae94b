import { chromeContext, webLocks } from '../../../src/sync/index.ts'
import { exposeProbe, patientClock } from './probe.ts'

exposeProbe({ ...chromeContext(), locks: webLocks({ clock: patientClock }) })

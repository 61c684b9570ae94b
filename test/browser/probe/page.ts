import { chromeContext, webLocks } from '../../../src/sync/index.ts'
import { exposeProbe, patientClock } from './probe.ts'

const probe = exposeProbe({ ...chromeContext(), locks: webLocks({ clock: patientClock }) })

if (location.hash) probe.writeAndClose(location.hash.slice(1))

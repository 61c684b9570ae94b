/** A tab of a web application, without an extension. */
import { broadcastMessenger, indexedDbStorage, webLocks } from '../../../src/sync/index.ts'
import { exposeProbe, patientClock } from '../probe/probe.ts'

Object.assign(globalThis, { indexedDbStorage })
exposeProbe({
  storage: indexedDbStorage(),
  messenger: broadcastMessenger(),
  locks: webLocks({ clock: patientClock }),
})

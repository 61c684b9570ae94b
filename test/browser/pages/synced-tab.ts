/** A tab of a plain application that has no extension around it. */
import { broadcastMessenger, indexedDbStorage, webLocks } from '../../../src/sync/index.ts'
import { exposeProbe, patientClock } from '../probe/probe.ts'

Object.assign(globalThis, { indexedDbStorage })
exposeProbe({
  storage: indexedDbStorage(),
  messenger: broadcastMessenger(),
  locks: webLocks({ clock: patientClock }),
})

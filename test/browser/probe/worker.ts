import { chromeContext, createCoordinator, webLocks } from '../../../src/sync/index.ts'
import { exposeProbe, patientClock } from './probe.ts'

const patient = { ...chromeContext(), locks: webLocks({ clock: patientClock }), clock: patientClock }
Object.assign(globalThis, { coordinator: createCoordinator(patient) })
exposeProbe(patient)

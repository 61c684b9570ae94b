/** The cases of a page, beside a Holdfast server at its origin. */
import { directoryStore, webStore } from 'holdfast/web'
import { leasesCase } from '../leases.ts'
import { locksCase } from '../locks.ts'
import { runEach } from '../run-each.ts'
import { autosaveCase } from './autosave.ts'
import { clientCase } from './client.ts'
import { projectCase } from './project.ts'
import { reactCase } from './react.tsx'
import { syncCase } from './sync.ts'
import { telemetryCase } from './telemetry.ts'
import { webStoresCase } from './web.ts'
import { workerClockCase } from './worker-clock.ts'

const cases = {
  async leases() {
    await leasesCase(() => webStore())
    await leasesCase(() => directoryStore(() => navigator.storage.getDirectory()))
  },
  locks: () => locksCase(() => webStore()),
  web: webStoresCase,
  workerClock: workerClockCase,
  project: projectCase,
  autosave: autosaveCase,
  client: clientCase,
  sync: syncCase,
  react: reactCase,
  telemetry: telemetryCase,
}

const result = runEach({ cases, async [Symbol.asyncDispose]() {} })
Object.assign(globalThis, { result })

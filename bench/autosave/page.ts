/** Runs in a page: saves of 1 MB beside a bare write and close of the same state. */
import { createAutoSave } from '../../src/autosave/index.ts'
import { createProjectLocks } from '../../src/project/index.ts'

/** Milliseconds of each round. The three take turns, so that a noisy machine is noisy for all of them alike. */
export interface Durations {
  readonly bare: number[]
  /** Until the save counts. */
  readonly committed: number[]
  /** Until the index and the history are in order as well. */
  readonly settled: number[]
}

async function measure(rounds: number): Promise<Durations> {
  const scenes = Array.from({ length: 1000 }, (_, id) => ({ id, text: 'scene '.repeat(163) }))
  let revision = 0
  const state = () => ({ revision: ++revision, scenes })
  const root = await navigator.storage.getDirectory()
  const autosave = createAutoSave({ read: state, locks: createProjectLocks({ namespace: 'bench' }) })
  let committedAt = 0
  autosave.subscribe(({ type }) => {
    if (type === 'autosave:saved') committedAt = performance.now()
  })
  const durations: Durations = { bare: [], committed: [], settled: [] }
  // The first rounds warm up, and fill the history: from then on each save removes one.
  for (let round = -25; round < rounds; round++) {
    const bareFrom = performance.now()
    const file = await root.getFileHandle('bare.json', { create: true })
    const writer = await file.createWritable()
    await writer.write(JSON.stringify(state()))
    await writer.close()
    const bare = performance.now() - bareFrom

    const saveFrom = performance.now()
    autosave.changed()
    const { phase, unsaved } = await autosave.flush()
    const settled = performance.now() - saveFrom
    if (unsaved) throw new Error(`not saved: ${phase}`)
    if (round < 0) continue
    durations.bare.push(bare)
    durations.committed.push(committedAt - saveFrom)
    durations.settled.push(settled)
  }
  await autosave.close()
  return durations
}

Object.assign(globalThis, { measure })

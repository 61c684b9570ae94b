/** Runs in a page: saves of 1 MB beside a bare write and close of the same state. */
import { createAutoSave } from '../../src/autosave/index.ts'
import { createProjectLocks } from '../../src/project/index.ts'
import { compareRates, type Rate } from '../measure.ts'

const BARE = 'write and close'

async function measure(): Promise<Rate[]> {
  const scenes = Array.from({ length: 1000 }, (_, id) => ({ id, text: 'scene '.repeat(163) }))
  let revision = 0
  const state = () => ({ revision: ++revision, scenes })

  const root = await navigator.storage.getDirectory()
  const bare = async () => {
    const file = await root.getFileHandle('bare.json', { create: true })
    const writer = await file.createWritable()
    await writer.write(JSON.stringify(state()))
    await writer.close()
  }
  const autosave = createAutoSave({ read: state, locks: createProjectLocks({ namespace: 'bench' }) })
  const save = async () => {
    autosave.changed()
    const { phase, unsaved } = await autosave.flushNow()
    if (unsaved) throw new Error(`not saved: ${phase}`)
  }
  const rates = await compareRates(
    [
      { name: BARE, run: bare },
      { name: 'AutoSave: checksum, commit, index, 20 generations', run: save },
    ],
    { rounds: 15, roundMs: 300 },
  )
  await autosave.dispose()
  return rates
}

Object.assign(globalThis, { measure })

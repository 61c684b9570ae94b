import assert from 'node:assert/strict'
import { systemClock } from 'holdfast'
import {
  AutoSaveError,
  type AutoSaveEvent,
  canRetry,
  canTakeover,
  createAutoSave,
  INITIAL_AUTOSAVE_STATE,
  localStorageJournal,
} from 'holdfast/autosave'
import { createProjectLocks } from 'holdfast/project'
import { unique } from '../backend.ts'
import { until } from './until.ts'

/** AutoSave, as docs/autosave.md uses it, and a second tab that takes over. */
export async function autosaveCase(): Promise<void> {
  await savesAndRestores()
  await takesOver()
  keepsJournals()
  const cause = new Error('the cause')
  assert.equal(new AutoSaveError('write-failed', 'not written').retryable, true)
  assert.equal(new AutoSaveError('corrupt', 'damaged', cause).cause, cause)
}

async function savesAndRestores(): Promise<void> {
  let story = { title: '' }
  await using autosave = createAutoSave({ read: () => story, namespace: `${unique}:story` })
  assert.deepEqual([autosave.state, autosave.snapshot()], [INITIAL_AUTOSAVE_STATE, INITIAL_AUTOSAVE_STATE])
  assert.equal((await autosave.restore()).length, 0)
  story = { title: 'The crossing' }
  autosave.changed()
  await until(autosave, () => autosave.state.savedAt !== null && !autosave.state.unsaved)
  story = { title: 'The crossing, second act' }
  autosave.changed()
  assert.equal((await autosave.flush()).unsaved, false)
  assert.equal((await autosave.flushNow()).phase, 'idle')
  assert.equal((await autosave.history()).length, 2)
  const recovery = await autosave.restore({ limit: 1, journals: false })
  assert.equal(recovery.skipped.length, 0)
  const [latest] = recovery
  assert.deepEqual(await latest?.read(), story)
  assert.deepEqual(await latest?.load(), story)
  await autosave.close()
  await autosave.dispose()
  assert.equal(autosave.state.phase, 'disabled')
}

async function takesOver(): Promise<void> {
  const directory = await (await navigator.storage.getDirectory()).getDirectoryHandle(unique, {
    create: true,
  })
  const events: AutoSaveEvent[] = []
  const openTab = (title: string) => {
    const locks = createProjectLocks({ namespace: `${unique}:tabs` })
    const autosave = createAutoSave({
      read: () => ({ title }),
      locks: { ...locks, namespace: `${unique}:tabs` },
      directory,
      ...{ debounce: '10ms', idle: '1s', generations: 5, maxBytes: 1_000_000, hold: 'session', eager: true },
      ...{ wait: '10ms', retry: { maxAttempts: 1 }, journal: localStorageJournal(unique) },
      channel: new BroadcastChannel(unique),
      clock: systemClock,
      onEvent: (event) => events.push(event),
    })
    return { autosave, locks }
  }
  const first = openTab('first')
  await until(first.autosave, () => first.autosave.state.backend === 'web')
  const second = openTab('second')
  await until(second.autosave, () => canTakeover(second.autosave.state))
  assert.equal(canRetry(second.autosave.state), false)
  assert.equal((await second.autosave.takeover()).backend, 'web')
  assert.equal((await second.autosave.takeOver()).backend, 'web')
  second.autosave.changed()
  assert.equal((await second.autosave.flush({ overwrite: true })).unsaved, false)
  assert(events.some(({ type }) => type === 'autosave:saved'))
  for (const { autosave, locks } of [first, second]) {
    await autosave.close()
    await locks.close()
  }
}

function keepsJournals(): void {
  for (const journal of [localStorageJournal(), localStorageJournal(`${unique}:journal`)]) {
    journal.write('page', 'text')
    assert.deepEqual(journal.read(), [{ key: 'page', text: 'text' }])
    journal.remove('page')
    assert.equal(journal.read().length, 0)
  }
}

import { createAutoSave } from '../../../src/autosave/index.ts'
import { createProjectLocks } from '../../../src/project/index.ts'

export const scenarios = {
  /** One writer and several rivals, all on the fallback file. Returns their events as JSON lines. */
  async contendOnFallback(rivals: number) {
    const lines: string[] = []
    const record = (event: unknown) => lines.push(JSON.stringify(event))
    const open = () => {
      const locks = createProjectLocks({ namespace: 'replay', locks: null })
      locks.subscribeLockEvents(record)
      const retry = { maxAttempts: 2, initialDelayMs: 5 }
      const autoSave = createAutoSave({ read: () => ({ text: 'Dear diary' }), locks, retry, onEvent: record })
      return { locks, autoSave }
    }
    const writer = open()
    writer.autoSave.changed()
    await writer.autoSave.flush()
    const others = Array.from({ length: rivals }, open)
    for (const { autoSave } of others) {
      autoSave.changed()
      await autoSave.flush().catch(() => {})
    }
    const phases = others.map(({ autoSave }) => autoSave.state.phase)
    for (const { autoSave, locks } of [...others, writer]) {
      await autoSave.close()
      await locks.close()
    }
    return { lines, phases }
  },
}

Object.assign(globalThis, { scenarios })

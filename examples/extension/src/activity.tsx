/** What this page is doing: whether a write is under way, and what the last one has to say. */
import { createContext, type ReactNode, useCallback, useContext, useEffect, useMemo, useState } from 'react'
import { useSyncStatus } from '../../../src/react/index.ts'
import { explain, texts } from './texts.ts'

interface Note {
  readonly text: string
  readonly undo?: (() => void) | undefined
  readonly isFailure?: boolean
}

interface Activity {
  readonly isSaving: boolean
  readonly note: Note | undefined
  /** Shows the note when the work is done, or that it failed. Resolves with whether it was done. */
  run(work: Promise<unknown>, failed: string, done?: Note): Promise<boolean>
}

/** A write that is faster than this is not worth a word. */
const SLOW_MS = 300

const ActivityContext = createContext<Activity | undefined>(undefined)

export function useActivity(): Activity {
  const activity = useContext(ActivityContext)
  if (!activity) throw new Error('expected an <ActivityProvider> above this component')
  return activity
}

export function ActivityProvider({ children }: { readonly children: ReactNode }) {
  const [pending, setPending] = useState(0)
  const [note, setNote] = useState<Note>()
  const run = useCallback(async (work: Promise<unknown>, failed: string, done?: Note) => {
    setPending((n) => n + 1)
    setNote(undefined)
    try {
      await work
      // The failure of another write that has ended in the meantime stays.
      if (done) setNote((now) => (now?.isFailure ? now : done))
      return true
    } catch (error) {
      setNote({ text: explain(failed, error), isFailure: true })
      return false
    } finally {
      setPending((n) => n - 1)
    }
  }, [])
  const activity = useMemo(() => ({ isSaving: pending > 0, note, run }), [pending, note, run])
  return <ActivityContext.Provider value={activity}>{children}</ActivityContext.Provider>
}

/** One line whose parts keep their places: the status in a word, and beside it what the last write has to say. */
export function StatusLine() {
  const { isSaving, note } = useActivity()
  const status = useSyncStatus()
  const isSlow = useSlow(isSaving)
  const writing = isSlow ? 'saving' : note?.isFailure ? 'failed' : 'ready'
  const shown = status === 'ready' ? writing : status
  return (
    <div className="status-line">
      <span className="pill" data-status={shown} role="status">
        {texts.status[shown]}
      </span>
      <p role="status">{note && !note.isFailure && note.text}</p>
      <p role="alert">{note?.isFailure && note.text}</p>
      {note?.undo && (
        <button type="button" className="link" onClick={note.undo}>
          {texts.undo}
        </button>
      )}
    </div>
  )
}

function useSlow(isSaving: boolean): boolean {
  const [isSlow, setSlow] = useState(false)
  useEffect(() => {
    const timer = isSaving ? setTimeout(() => setSlow(true), SLOW_MS) : undefined
    return () => {
      clearTimeout(timer)
      setSlow(false)
    }
  }, [isSaving])
  return isSlow
}

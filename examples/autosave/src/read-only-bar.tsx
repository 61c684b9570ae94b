import type { AutoSave, AutoSaveState } from '../../../src/autosave/index.ts'
import type { Story } from './story.ts'
import type { Texts } from './texts.ts'

export interface ReadOnlyBarProps {
  readonly state: AutoSaveState
  readonly autosave: AutoSave<Story> | null
  readonly words: Texts
  readonly onRestore: (story: Story) => void
}

/** Says why the story cannot be edited here, and what to do. While it can be edited, the bar stays as an empty line. */
export function ReadOnlyBar({ state, autosave, words, onRestore }: ReadOnlyBarProps) {
  const { readOnly, backend, unsaved } = state
  const reason = readOnly ? words[readOnly] : backend ? '' : words.asking
  // A conflict says it itself.
  const isKept = readOnly !== null && readOnly !== 'conflict' && unsaved
  const takeTheirs = async () => {
    const [theirs] = (await autosave?.restore({ limit: 1 })) ?? []
    if (theirs) onRestore(await theirs.load())
  }
  return (
    <div className="bar" data-alarm={readOnly !== null && readOnly !== 'held'}>
      <p>{isKept ? `${reason} ${words.unsaved}` : reason}</p>
      {readOnly === 'conflict' && (
        <>
          <button type="button" onClick={() => void takeTheirs()}>
            {words.takeTheirs}
          </button>
          <button type="button" onClick={() => void autosave?.flush({ overwrite: true })}>
            {words.keepMine}
          </button>
        </>
      )}
    </div>
  )
}

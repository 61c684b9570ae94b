import { useEffect, useReducer, useRef, useState } from 'react'
import { createProjectLocks } from '../../../src/project/index.ts'
import { AutoSaveIndicator, useAutoSave } from '../../../src/react/index.ts'
import { HistoryDialog } from './history-dialog.tsx'
import { ReadOnlyBar } from './read-only-bar.tsx'
import { SceneCard } from './scene-card.tsx'
import { type Edit, edit, emptyStory, type Story } from './story.ts'
import { type Language, preferredLanguage, texts } from './texts.ts'

const locks = createProjectLocks({ namespace: 'storyboard' })

export function Storyboard() {
  const [story, dispatch] = useReducer(edit, emptyStory)
  const [language, setLanguage] = useState<Language>(preferredLanguage)
  const [showsHistory, setShowsHistory] = useState(false)
  const restore = (restored: Story) => dispatch({ type: 'restore', story: restored })
  const { state, autosave } = useAutoSave(story, { locks, eager: true, onRestore: restore })
  /** Gets the focus, so that the next keys go to its text and not to the button. */
  const added = useRef('')
  const addButton = useRef<HTMLButtonElement>(null)
  const words = texts[language]
  const isReadOnly = state.backend === null || state.readOnly !== null

  const add = () => {
    added.current = crypto.randomUUID()
    dispatch({ type: 'add', id: added.current })
  }
  const editScene = (action: Edit) => {
    dispatch(action)
    if (action.type === 'remove') addButton.current?.focus()
  }

  useEffect(() => {
    document.documentElement.lang = language
    document.title = story.title || words.app
  }, [language, story.title, words])

  return (
    <>
      <header>
        <h1>{words.app}</h1>
        <AutoSaveIndicator autosave={autosave} lang={language} />
        <button type="button" onClick={() => setShowsHistory(true)}>
          {words.history}
        </button>
        <button type="button" onClick={() => setLanguage(language === 'en' ? 'ja' : 'en')}>
          {words.language}
        </button>
      </header>
      <ReadOnlyBar state={state} autosave={autosave} words={words} onRestore={restore} />
      <main data-read-only={isReadOnly}>
        <input
          className="title"
          value={story.title}
          readOnly={isReadOnly}
          placeholder={words.untitled}
          aria-label={words.title}
          onChange={(event) => dispatch({ type: 'title', title: event.target.value })}
        />
        {story.scenes.length === 0 && <p className="empty">{words.empty}</p>}
        <ol>
          {story.scenes.map((scene, index) => (
            <SceneCard
              key={scene.id}
              scene={scene}
              number={index + 1}
              isLast={index === story.scenes.length - 1}
              isNew={scene.id === added.current}
              isReadOnly={isReadOnly}
              words={words}
              onEdit={editScene}
            />
          ))}
        </ol>
        <button ref={addButton} type="button" className="primary" disabled={isReadOnly} onClick={add}>
          {words.add}
        </button>
      </main>
      {showsHistory && autosave && (
        <HistoryDialog
          autosave={autosave}
          language={language}
          isReadOnly={isReadOnly}
          onRestore={restore}
          onClose={() => setShowsHistory(false)}
        />
      )}
    </>
  )
}

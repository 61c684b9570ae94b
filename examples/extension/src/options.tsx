/** The control surface: the settings, and the list with its copy and its reset. */
import { useRef } from 'react'
import { useEntities, useSync } from '../../../src/react/index.ts'
import { exportCollection, importCollection } from '../../../src/sync/index.ts'
import { StatusLine, useActivity } from './activity.tsx'
import { Checklist } from './checklist.tsx'
import type { Item } from './model.ts'
import { SettingsForm } from './settings-form.tsx'
import { show } from './surface.tsx'
import { texts } from './texts.ts'

function Copies() {
  const sync = useSync<Item>()
  const { run } = useActivity()
  const file = useRef<HTMLInputElement>(null)
  async function download(): Promise<void> {
    const copy = new Blob([JSON.stringify(await exportCollection(sync), null, 2)], {
      type: 'application/json',
    })
    const link = Object.assign(document.createElement('a'), {
      href: URL.createObjectURL(copy),
      download: 'checklist.json',
    })
    link.click()
    URL.revokeObjectURL(link.href)
  }
  async function restore(chosen: File): Promise<void> {
    await importCollection(sync, await new Response(chosen).json())
  }
  return (
    <>
      <button type="button" onClick={() => void run(download(), texts.notSaved)}>
        {texts.download}
      </button>
      <button type="button" onClick={() => file.current?.click()}>
        {texts.restore}
      </button>
      <input
        ref={file}
        type="file"
        accept="application/json"
        aria-label={texts.restore}
        hidden
        onChange={(event) => {
          const [chosen] = event.target.files ?? []
          if (chosen) void run(restore(chosen), texts.notRestored, { text: texts.restored })
          event.target.value = ''
        }}
      />
    </>
  )
}

/** Asks first. The focus is on the harmless answer. */
function RemoveAll() {
  const sync = useSync<Item>()
  const { run } = useActivity()
  const entries = useEntities<Item>()
  const dialog = useRef<HTMLDialogElement>(null)
  const removeAll = () => {
    dialog.current?.close()
    const { entries: removed } = sync.state
    const undo = () => void run(sync.setEntities(removed), texts.notSaved)
    void run(sync.reset(), texts.notSaved, { text: texts.removedMany(removed.length), undo })
  }
  return (
    <>
      <button
        type="button"
        className="danger"
        disabled={entries.length === 0}
        onClick={() => dialog.current?.showModal()}
      >
        {texts.removeAll}
      </button>
      <dialog ref={dialog} aria-labelledby="remove-all">
        <h2 id="remove-all">{texts.removeAllTitle(entries.length)}</h2>
        <p>{texts.removeAllHint}</p>
        <div className="actions">
          <button type="button" onClick={() => dialog.current?.close()}>
            {texts.cancel}
          </button>
          <button type="button" className="danger" onClick={removeAll}>
            {texts.removeAll}
          </button>
        </div>
      </dialog>
    </>
  )
}

show(
  <>
    <header>
      <h1>{texts.app}</h1>
    </header>
    <section className="card">
      <h2>{texts.settings}</h2>
      <SettingsForm />
    </section>
    <section className="card">
      <h2>{texts.list}</h2>
      <Checklist />
      <div className="actions">
        <Copies />
        <RemoveAll />
      </div>
    </section>
    <StatusLine />
  </>,
)

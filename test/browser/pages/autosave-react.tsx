/** The hooks and the indicator of AutoSave, used as in an application. */
import { StrictMode, useState } from 'react'
import { flushSync } from 'react-dom'
import { createRoot, type Root } from 'react-dom/client'
import {
  type AutoSave,
  AutoSaveError,
  type AutoSaveState,
  INITIAL_AUTOSAVE_STATE,
} from '../../../src/autosave/index.ts'
import { createProjectLocks } from '../../../src/project/index.ts'
import {
  AutoSaveIndicator,
  type UseProjectLock,
  useAutoSave,
  useProjectLock,
} from '../../../src/react/index.ts'

const locks = createProjectLocks({ namespace: 'react' })
let setText: (text: string) => void
let setLang: (lang: 'en' | 'ja') => void
let acquire: UseProjectLock['acquire']
const caller = new AbortController()
let acquiring: Promise<unknown>
/** What the user types while the last save is being restored. */
let typedMeanwhile = ''
/** The directory cannot be read. */
let isBlocked = false
let eager = false
/** Releases the lock of `takeLock`. */
let giveBack: () => void
let root: Root | undefined

function Editor() {
  const [text, changeText] = useState('')
  const [lang, changeLang] = useState<'en' | 'ja'>('en')
  setText = changeText
  setLang = changeLang
  const { state, isWritable, autosave } = useAutoSave(text, {
    locks,
    debounce: 20,
    eager,
    directory() {
      if (isBlocked) throw new DOMException('not now', 'NotReadableError')
      return navigator.storage.getDirectory()
    },
    onRestore: changeText,
    onEvent({ type }) {
      if (type === 'autosave:restored' && typedMeanwhile) flushSync(() => changeText(typedMeanwhile))
    },
  })
  const { status } = useProjectLock(locks)
  const loadTheirs = async () => {
    const [theirs] = (await autosave?.restore({ limit: 1 })) ?? []
    if (theirs) changeText(await theirs.load())
  }
  return (
    <main data-phase={state.phase} data-lock={status} data-writable={isWritable}>
      <output>{text}</output>
      <AutoSaveIndicator autosave={autosave} lang={lang} />
      {state.stale && state.unsaved && (
        <p>
          <button type="button" onClick={() => void loadTheirs()}>
            Load it
          </button>
          <button type="button" onClick={() => autosave?.flush({ overwrite: true })}>
            Keep mine
          </button>
        </p>
      )}
    </main>
  )
}

function LockButton() {
  const lock = useProjectLock(locks, { scope: 'history' })
  const { status, error, release } = lock
  acquire = lock.acquire
  return (
    <button
      type="button"
      data-error={error?.code}
      onClick={() => (status === 'held' ? release() : lock.acquire())}
    >
      {status}
    </button>
  )
}

function mount(tree: React.ReactNode): HTMLElement {
  const host = document.body.appendChild(document.createElement('div'))
  root = createRoot(host)
  flushSync(() => root?.render(<StrictMode>{tree}</StrictMode>))
  return host
}

/** An AutoSave that stays in one state and counts the calls of `flush`. */
function frozen(part: Partial<AutoSaveState>) {
  const snapshot = { ...INITIAL_AUTOSAVE_STATE, ...part }
  const calls = { flush: 0, takeover: 0 }
  const autosave = {
    state: snapshot,
    subscribe: () => () => {},
    flush: async () => {
      calls.flush++
      return snapshot
    },
    takeover: async () => {
      calls.takeover++
      return snapshot
    },
  } as unknown as AutoSave<unknown>
  return { autosave, calls }
}

export const scenarios = {
  async open(typed = '') {
    typedMeanwhile = typed
    mount(<Editor />)
  },
  /** Requests the lock at once. */
  async openEagerly() {
    eager = true
    mount(<Editor />)
  },
  async block(isOn: boolean) {
    isBlocked = isOn
  },
  async type(text: string) {
    setText(text)
  },
  async speak(lang: 'en' | 'ja') {
    setLang(lang)
  },
  async openLock() {
    mount(<LockButton />)
  },
  /** Steals the lock, as another tab could. */
  takeLock: () =>
    new Promise<void>((taken) => {
      const hold = () => {
        taken()
        return new Promise<void>((resolve) => {
          giveBack = resolve
        })
      }
      void navigator.locks.request('react:project:history', { steal: true }, hold)
    }),
  async giveBack() {
    giveBack()
  },
  async acquire() {
    acquiring = acquire({ signal: caller.signal })
  },
  /** Acquires without the hook, as another part of the page could. */
  async acquireBeside() {
    acquiring = locks.acquireProjectLock({ scope: 'history', signal: caller.signal }).catch(() => null)
  },
  async abort() {
    caller.abort()
    return acquiring
  },
  async close() {
    root?.unmount()
  },
  heldLocks: async () => {
    const { held = [] } = await navigator.locks.query()
    // Without the tags, by which waiters find out whether a holder still runs.
    return held.flatMap(({ name = '' }) => (name.includes('\u0004') ? [] : name))
  },
  waitingLocks: async () => (await navigator.locks.query()).pending?.map(({ name }) => name),
  async savedCount() {
    const directory = await navigator.storage.getDirectory()
    const project = await directory.getDirectoryHandle('project')
    const autosave = await project.getDirectoryHandle('autosave')
    const names: string[] = []
    for await (const name of (await autosave.getDirectoryHandle('history')).keys())
      if (name.endsWith('.json')) names.push(name)
    return names.length
  },

  /** The outer size of the indicator, and the height of its parts, in states with and without a button. */
  async sizes() {
    const states: Partial<AutoSaveState>[] = [
      { savedAt: Date.now() },
      { savedAt: 0, backend: 'fallback' },
      { phase: 'writing' },
      { phase: 'backoff' },
      { phase: 'read-only', readOnly: 'held', inLine: true },
    ]
    return states.map((state) => {
      const host = mount(<AutoSaveIndicator autosave={frozen(state).autosave} />)
      const box = host.querySelector('.hf-autosave')?.getBoundingClientRect()
      const parts = [...host.querySelectorAll('summary, button')].map(
        (part) => part.getBoundingClientRect().height,
      )
      root?.unmount()
      host.remove()
      return { width: box?.width, height: box?.height, parts: [...new Set(parts)] }
    })
  },
  /** The colours of every tone, as red, green and blue. */
  async colours() {
    const states: Partial<AutoSaveState>[] = [
      { savedAt: 0 },
      { savedAt: 0, backend: 'fallback' },
      { phase: 'writing' },
      { phase: 'backoff' },
      { phase: 'read-only', readOnly: 'held' },
      { phase: 'disabled' },
    ]
    const parse = (colour: string) => (colour.match(/[\d.]+/g) ?? []).slice(0, 3).map(Number)
    return states.map((state) => {
      const host = mount(<AutoSaveIndicator autosave={frozen(state).autosave} />)
      const tone = host.querySelector('.hf-autosave')?.getAttribute('data-tone') ?? ''
      const { color, backgroundColor } = getComputedStyle(host.querySelector('summary') as Element)
      root?.unmount()
      host.remove()
      return { tone, text: parse(color), fill: parse(backgroundColor) }
    })
  },
  /** What the indicator shows and announces in one state. */
  async indicate(
    part: Partial<Omit<AutoSaveState, 'error'>> & { code?: AutoSaveError['code'] },
    lang: 'en' | 'ja' = 'en',
  ) {
    const { code, ...rest } = part
    const { autosave, calls } = frozen({
      ...rest,
      error: code ? new AutoSaveError(code, 'for a test') : null,
    })
    const host = mount(<AutoSaveIndicator autosave={autosave} lang={lang} />)
    host.querySelector('button')?.click()
    const text = (selector: string) => host.querySelector(selector)?.textContent ?? ''
    const outcome = {
      tone: host.querySelector('.hf-autosave')?.getAttribute('data-tone'),
      label: text('.hf-label'),
      detail: text('.hf-detail').length > 0,
      icon: host.querySelector('svg path') !== null,
      status: text('[role=status]'),
      alert: text('[role=alert]'),
      calls,
    }
    root?.unmount()
    host.remove()
    return outcome
  },
}

Object.assign(globalThis, { scenarios })

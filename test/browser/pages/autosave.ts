/** An editor of one title in a page, for tests that drive it from outside. */
import { type AutoSave, type AutoSaveOptions, createAutoSave } from '../../../src/autosave/index.ts'
import { createProjectLocks } from '../../../src/project/index.ts'

interface Story {
  readonly title: string
  /** Makes the save as long as a test needs it. */
  readonly filler: string
}

const takeoverAfter = Number(new URLSearchParams(location.search).get('takeoverAfter') ?? 30_000)
const locks = createProjectLocks({ namespace: 'test', takeoverAfter })
let story: Story = { title: '', filler: '' }
let autosave: AutoSave<Story>
let endStall = () => {}

export const scenarios = {
  async open(options: Omit<AutoSaveOptions<Story>, 'read' | 'locks' | 'namespace'> = {}) {
    autosave = createAutoSave<Story>({ read: () => story, locks, debounce: 50, ...options })
    return scenarios.recover()
  },
  async recover() {
    const [latest] = await autosave.restore({ limit: 1 })
    if (!latest) return null
    story = await latest.load()
    return { title: story.title, source: latest.source }
  },
  async edit(title: string, fillerLength = 0) {
    story = { title, filler: title.charAt(0).repeat(fillerLength) }
    autosave.changed()
  },
  async flush() {
    const { error, ...rest } = await autosave.flush()
    return { ...rest, code: error?.code ?? null }
  },
  async state() {
    const { error, ...rest } = autosave.state
    return { ...rest, code: error?.code ?? null }
  },
  async takeOver() {
    const { error, ...rest } = await autosave.takeover()
    return { ...rest, code: error?.code ?? null }
  },
  history: async () => (await autosave.history()).length,
  journals: async () => Object.keys(localStorage).length,
  close: () => autosave.close(),

  /** The next commit opens `current.json`, which nobody else can open then, and stops there. */
  async stallInCommit() {
    const { createWritable } = FileSystemFileHandle.prototype
    const stalled = new Promise<void>((resolve) => {
      endStall = resolve
    })
    FileSystemFileHandle.prototype.createWritable = async function (...args) {
      const writer = await createWritable.apply(this, args)
      if (this.name === 'current.json') await stalled
      return writer
    }
  },
  async continueCommit() {
    endStall()
  },

  /** Saves without end. `acknowledged` returns the number of the last save. */
  async saveRepeatedly(fillerLength: number) {
    for (let n = 1; ; n++) {
      await scenarios.edit(`${n}`, fillerLength)
      const { unsaved } = await autosave.flush()
      if (!unsaved) localStorage.setItem('acknowledged', `${n}`)
    }
  },
  async acknowledged() {
    return Number(localStorage.getItem('acknowledged'))
  },

  /**
   * Reads as another tab would, through AutoSave and without it, for at least `ms` and until it has seen `saves` saves.
   * Resolves with a list of the problems.
   */
  async readWhileSaved(ms: number, saves: number) {
    const seen = new Set<string>()
    const wrong: string[] = []
    const check = (by: string, { title, filler }: Story) => {
      seen.add(title)
      if (filler !== title.charAt(0).repeat(filler.length)) wrong.push(`${by}: ${title} is torn`)
    }
    const reader = createAutoSave<Story>({ read: () => story, locks, journal: false })
    for (const end = performance.now() + ms; performance.now() < end || seen.size < saves; ) {
      const [latest] = await reader.restore({ limit: 1 })
      if (latest) check('restore', await latest.load())
      else wrong.push('restore: nothing')
      check('without AutoSave', await readDirectly())
    }
    await reader.close()
    return wrong
  },

  async clearFiles() {
    const root = await navigator.storage.getDirectory()
    for await (const name of root.keys()) await root.removeEntry(name, { recursive: true })
    localStorage.clear()
  },
}

/** Reads without this library the save that `current.json` names. Retries, because files are being replaced. */
async function readDirectly(): Promise<Story> {
  for (let attempt = 1; ; attempt++) {
    try {
      const root = await navigator.storage.getDirectory()
      const project = await root.getDirectoryHandle('project')
      const autosave = await project.getDirectoryHandle('autosave')
      const current = await (await autosave.getFileHandle('current.json')).getFile()
      const name: string = JSON.parse(await current.text()).file.replace('history/', '')
      const file = await (await autosave.getDirectoryHandle('history')).getFileHandle(name)
      return JSON.parse(await (await file.getFile()).text()).data
    } catch (error) {
      if (error instanceof SyntaxError || attempt === 100) throw error
    }
  }
}

Object.assign(globalThis, { scenarios })

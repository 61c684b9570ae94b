import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { WordRecord } from '../../../src/testing/history/index.ts'
import { eventually } from '../../eventually.ts'
import { seeded } from '../../random.ts'
import { buildPastedPage, servePastedPage } from '../pasted-page.ts'
import { type Ending, interrupt, KINDS, type Kind, ownerOf } from './interruption.ts'
import { Person } from './person.ts'
import { ServedDocument } from './served-document.ts'

const ROOM = 'minutes-42'
const EMPTY = 'm:\n\nboth:\n\nn:\n'
/** After this number of interruptions everything is settled and compared with the record. */
const CHECK_AFTER = KINDS.length

export interface Report {
  /** How often each kind came. */
  readonly interruptions: Map<Kind, number>
  typed: number
  /** Found in the document at a check. */
  saved: number
  /** Not in the document when a check began, only in a browser. */
  kept: number
  /** By a choice of the test in a conflict. */
  givenUp: number
  readonly lost: string[]
  readonly doubled: string[]
  readonly resurrected: string[]
}

export function emptyReport(): Report {
  return {
    interruptions: new Map(),
    typed: 0,
    saved: 0,
    kept: 0,
    givenUp: 0,
    lost: [],
    doubled: [],
    resurrected: [],
  }
}

interface Active {
  readonly owner: string
  readonly end: Ending
  beats: number
}

/**
 * Two people write one document, and everything comes between them. Nobody but `record` knows what was typed. The
 * report grows meanwhile, so that a run that stops early has one too.
 */
export async function interruptPeople(count: number, seed: number, report: Report): Promise<void> {
  const random = seeded(seed)
  const record = new WordRecord()
  await using cleanup = new AsyncDisposableStack()
  const project = await mkdtemp(join(tmpdir(), 'holdfast-interruptions-'))
  cleanup.defer(() => rm(project, { recursive: true }))
  const { pages, port: pagesPort } = await servePastedPage(await buildPastedPage(project))
  cleanup.defer(() => pages.close())
  const server = cleanup.use(new ServedDocument(project, 'http://localhost:5173'))
  await server.start()
  const shared = { random, record, server, pagesPort }
  const people = [
    cleanup.use(await Person.arrive('m', shared)),
    cleanup.use(await Person.arrive('n', shared)),
  ]
  const active: Active[] = []
  const deck: Kind[] = []

  await clear()
  for (let beats = 0; beats < 4; beats++) await beat()
  for (let begun = 0; begun < count; ) {
    if (deck.length === 0) deck.push(...random.shuffled(KINDS))
    if (await begin()) {
      begun++
      if (begun % CHECK_AFTER === 0 || begun === count) await check()
    }
    // What is typed after the last check would be counted and never compared.
    if (begun === count) break
    for (let beats = random.between(1, 4); beats > 0; beats--) await beat()
  }

  async function begin(): Promise<boolean> {
    const person = random.pick(people)
    const kind = deck.shift()
    if (!person || !kind) return false
    const owner = ownerOf(kind, person)
    const isBusy = active.some((other) => other.owner === owner)
    const end = isBusy ? null : await interrupt(kind, person, server, random)
    if (!end) {
      deck.push(kind)
      return false
    }
    active.push({ owner, end, beats: random.between(2, 12) })
    report.interruptions.set(kind, (report.interruptions.get(kind) ?? 0) + 1)
    return true
  }

  async function beat(): Promise<void> {
    for (const person of people) for (const tab of person.openTabs) await person.act(tab)
    report.typed = record.size
    // The pace of a person. No check depends on it.
    await pause(random.between(50, 500))
    for (const interruption of [...active])
      if (--interruption.beats <= 0) {
        active.splice(active.indexOf(interruption), 1)
        await interruption.end()
      }
  }

  /** Everything works again. What is kept is saved, and the document is compared with the record. */
  async function check(): Promise<void> {
    for (let beats = random.between(1, 6); beats > 0; beats--) await beat()
    for (const { end } of active.splice(0)) await end()
    report.kept += record.missingIn(await server.read(ROOM)).length
    for (const person of people) for (const tab of person.openTabs) await person.settle(tab)
    for (const person of people) await gather(person)
    const found = record.check(await server.read(ROOM))
    report.saved += found.saved
    report.lost.push(...found.lost)
    report.doubled.push(...found.doubled)
    report.resurrected.push(...found.resurrected)
    report.givenUp += found.givenUp
    record.note('removed', [...found.lost, ...found.resurrected])
    await clear()
  }

  /** One tab of the person is left. It takes what the others have left behind. */
  async function gather(person: Person): Promise<void> {
    const [first, ...others] = person.openTabs
    for (const tab of others) await tab.page.close()
    if (!first) await person.openTab()
    const [tab] = person.openTabs
    if (!tab) throw new Error('the tab is gone')
    await eventually(async () => {
      await tab.visit()
      await person.settle(tab)
      const copies = await tab.copies()
      if (copies > 0) throw new Error(`${copies} texts are kept and not offered`)
    })
  }

  async function clear(): Promise<void> {
    const [person] = random.shuffled(people)
    const [tab] = person?.openTabs ?? []
    if (tab) await person?.clear(tab, EMPTY)
  }
}

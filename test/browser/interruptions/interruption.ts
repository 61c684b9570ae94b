import type { Random } from '../../random.ts'
import { crash } from '../crash.ts'
import type { Person } from './person.ts'
import type { ServedDocument } from './served-document.ts'
import type { Weather } from './unreliable-network.ts'

export const KINDS = [
  'server stopped',
  'server killed',
  'slow network',
  'late requests',
  'doubled requests',
  'offline',
  'tab killed',
  'tab closed',
  'reload',
  'second tab',
  'takeover',
  'handoff',
] as const
export type Kind = (typeof KINDS)[number]

const WEATHER: Partial<Record<Kind, Weather>> = {
  'slow network': 'slow',
  'late requests': 'late',
  'doubled requests': 'doubled',
}
const MOST_TABS = 3

/** An interruption that goes on. It is called to end it. */
export type Ending = () => Promise<void>

/** Begins an interruption. `null`: it is not possible now, for example because nobody has the lock. */
export async function interrupt(
  kind: Kind,
  person: Person,
  server: ServedDocument,
  random: Random,
): Promise<Ending | null> {
  const tab = random.pick(person.openTabs)
  switch (kind) {
    case 'server stopped':
      server.halt()
      return async () => server.resume()
    case 'server killed':
      await server.kill()
      return () => server.start()
    case 'slow network':
    case 'late requests':
    case 'doubled requests':
      if (person.network.weather !== 'good') return null
      person.network.weather = WEATHER[kind] ?? 'good'
      return async () => {
        person.network.weather = 'good'
        // The others arrive after a later interruption.
        if (random.chance(0.7)) person.network.deliver()
      }
    case 'offline':
      await person.context.setOffline(true)
      return () => person.context.setOffline(false)
    case 'tab killed':
    case 'tab closed':
      if (!tab) return null
      await person.type(tab)
      if (kind === 'tab killed') await crash(tab.page)
      await tab.page.close()
      return () => person.openTab()
    case 'reload':
      if (!tab) return null
      await person.type(tab)
      await tab.page.reload().catch(() => {})
      return async () => {}
    case 'second tab':
      if (person.openTabs.length >= MOST_TABS) return null
      await person.openTab()
      return async () => {}
    case 'takeover':
      if (!(await tab?.press('Take over'))) return null
      return (await tab?.press('Take over')) ? async () => {} : null
    case 'handoff':
      return (await tab?.press('Ask for it')) ? async () => {} : null
  }
}

/** Only one interruption at a time may belong to each of these. */
export function ownerOf(kind: Kind, person: Person): string {
  if (kind.startsWith('server')) return 'server'
  return kind === 'offline'
    ? `${person.letter} offline`
    : `${person.letter} ${kind in WEATHER ? 'network' : 'tab'}`
}

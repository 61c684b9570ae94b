/** The rules of the source tree: which part may use what. A part is a folder of `src`. */
import { isBuiltin } from 'node:module'
import { dirname, join } from 'node:path/posix'
import type { SourceFile } from './source-file.ts'

/** What a part may import, beside itself: other parts, or single stores. */
const ARROWS: Readonly<Record<string, readonly string[]>> = {
  base: [],
  clients: ['base'],
  core: ['base'],
  stores: ['base', 'clients', 'core'],
  'store-kit': ['base', 'clients', 'core', 'stores'],
  guard: ['base', 'clients', 'core'],
  locks: ['base', 'core'],
  'worker-clock': ['base'],
  project: ['base', 'clients/browser-errors', 'core', 'worker-clock', 'stores/web', 'stores/browser'],
  autosave: ['base', 'core', 'worker-clock', 'project'],
  sync: ['base', 'core'],
  once: ['base', 'clients', 'core'],
  idempotency: ['base', 'once'],
  protocol: [],
  configuration: ['base'],
  server: [
    'base',
    'clients',
    'configuration',
    'core',
    'protocol',
    'stores/etcd',
    'stores/local',
    'stores/mysql',
    'stores/nats',
    'stores/postgres',
    'stores/redis',
    'stores/sqlite',
  ],
  client: ['base', 'core', 'worker-clock', 'protocol', 'stores/local'],
  telemetry: ['base', 'configuration', 'core', 'protocol/options', 'stores/file'],
  react: ['base', 'core', 'project', 'autosave', 'sync', 'client'],
  testing: ['base', 'core', 'sync'],
}
/** May import all parts; nobody imports it. */
const TOP = 'cli'

/** Files that other parts may import. Every file of `base`, `clients` and `configuration` is one. */
const DOORS =
  /^src\/((base|clients|configuration)\/[\w-]+|core\/(keep-lease|manager)|project\/options|protocol\/(names|options|pusher)|stores\/(local|browser)\/[\w-]+|stores\/nats\/(bucket|names)|[\w-]+\/index|server\/parts|server\/node\/(index|listener)|client\/(http-store|draft\/differences)|telemetry\/index-node|stores\/[\w-]+|stores\/[\w-]+\/index)\.ts$/
const NODE_ALLOWED =
  /^src\/(stores\/(sqlite|file)[./]|stores\/local\/[\w-]*-node\.ts|server\/node|testing\/node\/|configuration\/[\w-]*-node\.ts|telemetry\/[\w-]*-node\.ts|cli\/)/
/** Entries of their own, because they can only be imported in Node. */
const NODE_ENTRIES = /^src\/(server|testing)\/node\//
const BROWSER_ALLOWED =
  /^src\/(stores\/(web|browser)|worker-clock|project|autosave|sync|client|react|(base|telemetry)\/[\w-]*-browser)[./]/
const BROWSER_NAMES = ['navigator', 'localStorage', 'sessionStorage', 'indexedDB', 'BroadcastChannel']
/** Only the clock may use these, so that a simulation can own time and chance. */
const TIME_AND_CHANCE = ['setTimeout', 'setInterval', 'Date.now', 'performance.now', 'Math.random']
/** In `base` and `core`, these neither: no tick of the event loop, and no dates, which people read. */
const TURNS_AND_DATES = ['setImmediate', 'Date']
/** Who may use the real time all the same. */
const REAL_TIME: readonly RegExp[] = [
  /^src\/base\/clock\.ts$/,
  // It judges stores by the real time, and waits for processes.
  /^src\/testing\//,
  // It measures, draws, and ends a command in time also when this process was blocked.
  /^src\/cli\//,
  // They show a person how long something lasts, by the clock on the wall.
  /^src\/react\/lock-banner\.tsx$/,
  // The date in an answer of HTTP is compared with the time of this machine.
  /^src\/client\/api\.ts$/,
  // The copy of what was typed: it must be written also if the page has another clock.
  /^src\/client\/draft\/unsaved-copy\.ts$/,
]

/** Their results depend on the locale of the machine. `compareUtf8` does not. */
const BY_LOCALE = ['localeCompare', 'toLocaleUpperCase', 'toLocaleLowerCase']

/** `packages`: what a user of the package has or may have installed. */
export function violations(file: SourceFile, packages: readonly string[]): string[] {
  const { path, imports, names } = file
  if (path.endsWith('.test.ts')) return []
  const forbidden = [
    ...BY_LOCALE,
    ...(REAL_TIME.some((place) => place.test(path)) ? [] : TIME_AND_CHANCE),
    ...(['base', 'core'].includes(partOf(path) ?? '') && path !== 'src/base/clock.ts' ? TURNS_AND_DATES : []),
    ...(BROWSER_ALLOWED.test(path) ? [] : BROWSER_NAMES),
  ]
  return [
    ...imports.flatMap((target) => importViolations(path, target, packages)),
    ...forbidden.filter((name) => names.has(name)).map((name) => `${path} uses ${name}`),
  ]
}

function importViolations(path: string, target: string, packages: readonly string[]): string[] {
  const says = (why: string) => [`${path} imports ${target}: ${why}`]
  if (isBuiltin(target)) return NODE_ALLOWED.test(path) ? [] : says('no place for Node built-ins')
  const part = partOf(path)
  if (!target.startsWith('.')) {
    if (part === 'core' || part === 'base') return says(`${part} imports no package`)
    const known = packages.some((name) => target === name || target.startsWith(`${name}/`))
    return known ? [] : says('not a dependency')
  }
  const file = join(dirname(path), target)
  if (file.endsWith('.test.ts')) return says('a test')
  if (NODE_ENTRIES.test(file) && !NODE_ALLOWED.test(path)) return says('it needs Node')
  const other = partOf(file)
  if (other === part) return []
  if (other === undefined || other === TOP) return says('not for import')
  if (part !== TOP && !mayUse(part, file)) return says(`${part} may not use ${other}`)
  return DOORS.test(file) ? [] : says(`not the door of ${other}`)
}

function mayUse(part: string | undefined, file: string): boolean {
  const arrows = ARROWS[part ?? ''] ?? []
  return arrows.some((arrow) => file === `src/${arrow}.ts` || file.startsWith(`src/${arrow}/`))
}

function partOf(path: string): string | undefined {
  const part = /^src\/([\w-]+)\//.exec(path)?.[1]
  return part !== undefined && (part in ARROWS || part === TOP) ? part : undefined
}

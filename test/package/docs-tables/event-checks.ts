import { documentEvents } from '../../../src/protocol/index.ts'
import { code, type ExpectedRow, PROSE, type TableCheck } from './compare-table.ts'
import { type EventDeclaration, eventsOf } from './declarations.ts'

export const EVENT_CHECKS: readonly TableCheck[] = [
  {
    table: 'docs/guide.md#Events',
    about: 'the event',
    isOrdered: true,
    rows: () => eventsOf('src/core/lease.ts').map((event) => [code(event.type), together(event), PROSE]),
  },
  {
    table: 'docs/sharing.md#Watching others',
    about: 'the event',
    isOrdered: true,
    rows: () => eventsOf('src/core/watch.ts').map((event) => [code(event.type), together(event), PROSE]),
  },
  {
    table: 'docs/project-lock.md#Events',
    about: 'the event',
    rows: () => eventsOf('src/project/types.ts').map((event) => [code(event.type), each(event), PROSE]),
  },
  {
    table: 'docs/autosave.md#Calls 2',
    about: 'the event',
    isOrdered: true,
    rows: () => eventsOf('src/autosave/types.ts').map((event) => [code(event.type), each(event), PROSE]),
  },
  {
    table: 'docs/websocket.md#Events',
    about: 'the event',
    isOrdered: true,
    rows: () =>
      Object.entries(documentEvents).map(
        ([name, { entries }]): ExpectedRow => [code(name), Object.keys(entries).map(code).join(', '), PROSE],
      ),
  },
]

function together({ fields }: EventDeclaration): string {
  return fields.length > 0 ? code(fields.join(', ')) : ''
}

function each({ fields }: EventDeclaration): string {
  return fields.map(code).join(', ')
}

import { describe, expect, it } from 'vitest'
import { RESERVATION_MS } from '../lease-row.ts'
import { migration1 } from './migration-1.ts'
import { MIGRATION_1_RESERVATION_MS } from './migration-1-tables.ts'
import { namesOf } from './names.ts'

describe('migration 1', () => {
  it('is the text that was released', async () => {
    const text = new TextEncoder().encode(migration1(namesOf('public', 'holdfast_leases')))
    const hash = Buffer.from(await crypto.subtle.digest('SHA-256', text)).toString('hex')
    expect(hash).toBe('cf254de33fd0d97fe1ed33ae865478955c5ee58e13c9c2f41dbeacf6a3219132')
  })

  it('reserves a turn for as long as the other stores do', () => {
    expect(MIGRATION_1_RESERVATION_MS).toBe(RESERVATION_MS)
  })
})

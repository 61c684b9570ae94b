import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { functionNames, functionTexts } from '../../../src/stores/postgres/install-script.ts'
import { type Names, namesOf } from '../../../src/stores/postgres/names.ts'
import { type Bed, makeBed } from './bed.ts'

const { HOLDFAST_TEST_POSTGRES_URL: url = '' } = process.env

let bed: Bed
let names: Names
beforeEach(async () => {
  bed = await makeBed(url)
  names = namesOf(bed.schema, 'holdfast_leases')
  await bed.store().read(['r'])
})
afterEach(() => bed[Symbol.asyncDispose]())

/** Each with the comment before it. */
function statements(): string[] {
  return functionTexts(names)
    .trim()
    .split(/\n\n+(?=--|create )/)
}

describe('the functions of the Postgres store', () => {
  it('the functions of the Postgres store are one statement each, and there is one for every name that an installation checks', () => {
    const created = statements().map(
      (text) => /create (?:or replace )?function \S+\."(\w+)"\(/.exec(text)?.[1],
    )
    expect(created.toSorted()).toEqual(functionNames(names).toSorted())
  })

  it('the functions of the Postgres store are accepted by the server one by one, as a person pastes them into psql', async () => {
    for (const text of statements())
      await bed.admin.query(text.replace('create function', 'create or replace function'))
  })

  it('the functions of the Postgres store are refused by the server if one has a mistake in its body', async () => {
    const [release = ''] = statements().filter((text) => text.includes('_release"('))
    const mistaken = release.replace('live := coalesce(', 'live := coalesce((')
    await expect(bed.admin.query(mistaken)).rejects.toThrow('mismatched parentheses')
  })
})

import { expect, it } from 'vitest'
import { DOCUMENT_FIELDS, fieldsOf } from './naming.ts'

it('a field whose name is undefined keeps its default', () => {
  expect(fieldsOf('fields', DOCUMENT_FIELDS, { status: 'state', error: undefined })).toEqual({
    ...DOCUMENT_FIELDS,
    status: 'state',
  })
})

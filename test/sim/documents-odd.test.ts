import { checkDocuments } from './product/check-documents.ts'

checkDocuments(1)
